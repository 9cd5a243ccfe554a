"""What makes the generated parts of the site, and runs the code on its pages."""
