"""The course: lessons in chapters, what the front page and the pages of the lessons show of them."""
