"""The groups of figures: each module measures one subject, by a function `measure`."""
