"""Colours that people of any colour vision tell apart (Okabe and Ito, Color Universal Design, 2008), and greys."""

BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, BLACK = "#E69F00", "#56B4E9", "#F0E442", "#000000"
GREY, LIGHT_GREY = "#777777", "#999999"
# Where yellow would be a thin line on white.
OLIVE = "#9A8700"
