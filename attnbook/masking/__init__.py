"""Which positions may attend to which, and one mask in every library's convention.

`lengths` reads and checks lengths, `masks` turns lengths and order into a mask, `rules` has more
rules, `forms` joins all of them as data, `mistakes` gives what common mistakes make of a mask,
`padding` replaces hidden vectors, `interop` describes one mask for other libraries, and
`conversion` reads a mask that was made for one of them. Scores are masked elsewhere:
`attnbook.weighting` sets hidden weights and rows without visible keys to 0.
"""
