"""The module of blockvec that works on CUDA devices. blockvec loads it when the first array on a device comes."""
