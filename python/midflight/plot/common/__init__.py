"""What all figures share: style, fonts and files, legends, names and the ends of axes."""
