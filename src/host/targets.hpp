#pragma once

// Included before Highway's foreach_target.h: the targets that are compiled.
// On x86: AVX3 (AVX-512), AVX2, and the baseline. Left out: SSSE3 and SSE4 (plain loops serve processors that old),
// AVX3_DL, AVX3_ZEN4, AVX3_SPR and AVX10 (bits 7, 6, 4 to 5: nothing in them for these kernels). On Arm: NEON; the
// scalable vectors of SVE cannot be kept in arrays, which register tiles are.
#define HWY_DISABLED_TARGETS                                                                                     \
  ((1LL << 4) | (1LL << 5) | (1LL << 6) | (1LL << 7) | HWY_SSE4 | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | \
   HWY_SVE2_128)
