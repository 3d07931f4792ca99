"""One thread, repeatable examples, and shapes that are checked at run time."""

import hypothesis
import jaxtyping
import torch

# The modules that only the program calls. In the others bad input comes from people, and must meet their own messages.
jaxtyping.install_import_hook(["vase.method", "vase.nn"], "beartype.beartype")

torch.set_num_threads(1)
torch.set_warn_always(True)  # else a warning is an error in the first test that meets it only
hypothesis.settings.register_profile("vase", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("vase")
