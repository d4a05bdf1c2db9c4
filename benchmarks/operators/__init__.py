"""Eight operators like those of KernelBench, written in Triton for this project, with launches and grids of options."""
