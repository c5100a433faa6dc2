"""Is *your* all-reduce right, and if not, what is wrong with it, in words?"""
