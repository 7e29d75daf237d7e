"""L1: kernels as machine code, where that pays.

`programs` says what there is to compile; `specialise` writes its source from the kernels,
`lowering`, `writing` and `arithmetic` turn that into LLVM's intermediate code, `machine` lets LLVM
compile and load it, with arguments as in `layout`, `cache` keeps it. `live` moves a running study
from interpreted kernels to compiled ones, which `background` makes meanwhile; `rent` does so for
simulations.
"""
