"""The paper's longer stream (Figure 3)."""
