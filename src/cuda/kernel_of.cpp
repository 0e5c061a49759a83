#include "src/cuda/kernel_of.hpp"

#include <blockvec/kernels/error.hpp>

#include "src/dispatch/cuda/kernels.hpp"
#include "src/dispatch/cuda/text.hpp"

namespace blockvec::kernels::cuda {
namespace {

template <class Problem, class Configuration>
void require(const Problem& p, const Configuration& x, const Product& product) {
  if (dispatch::has_kernel(p, x)) return;
  throw Error(words(product) + ": no kernel of this type for \"" + dispatch::name_of(x.kernel) + ' ' +
              dispatch::words(x) + '"');
}

}  // namespace

void require_kernel(const dispatch::CudaTsmttsmProblem& p, const dispatch::CudaTsmttsm& x, const Product& product) {
  require(p, x, product);
}

void require_kernel(const dispatch::CudaTsmmProblem& p, const dispatch::CudaTsmm& x, const Product& product) {
  require(p, x, product);
}

}  // namespace blockvec::kernels::cuda
