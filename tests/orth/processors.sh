#!/bin/sh
# processors.sh PROGRAM: runs it with a BLAS that takes each rank for another processor, and has another number of threads.
case ${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}} in
  0) export OPENBLAS_CORETYPE=Haswell OPENBLAS_NUM_THREADS=1 ;;
  *) export OPENBLAS_CORETYPE=SkylakeX OPENBLAS_NUM_THREADS=2 ;;
esac
exec "$@"
