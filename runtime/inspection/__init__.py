"""Looking at programs: what each stage made, where the time goes, how targets compare; the command line."""
