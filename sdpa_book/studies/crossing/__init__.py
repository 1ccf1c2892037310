"""Divisor, start and warm-up crossed: does the delay follow the spread of fresh scores?"""
