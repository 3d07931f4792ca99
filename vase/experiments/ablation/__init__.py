"""The paper's ablation study (Table 1 and Figure 2), and the same with longer stages."""
