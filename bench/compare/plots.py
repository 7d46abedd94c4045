"""SVG pictures, each for a light and for a dark page. Plain text: no library draws them."""

from dataclasses import dataclass
from html import escape
from math import log10

WIDTH = 760


@dataclass(frozen=True)
class Palette:
    name: str
    paper: str
    ink: str
    faint: str
    grid: str
    lines: tuple


LIGHT = Palette("light", "#ffffff", "#1f2328", "#59636e", "#d8dee4", ("#0969da", "#8c959f", "#cf222e", "#1a7f37"))
DARK = Palette("dark", "#0d1117", "#f0f6fc", "#9198a1", "#30363d", ("#4493f8", "#7d8590", "#f85149", "#3fb950"))


class Canvas:
    def __init__(self, height, palette, title, question):
        self.height, self.palette, self.parts = height, palette, []
        self.text(24, 32, title, size=17, weight=600)
        self.text(24, 54, question, size=13, fill=palette.faint)

    def text(self, x, y, words, size=12, fill=None, anchor="start", weight=400):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill or self.palette.ink}" '
                          f'text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>')

    def line(self, x1, y1, x2, y2, stroke=None, width=1.0, dash=""):
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke or self.palette.grid}" '
                          f'stroke-width="{width}"{dashed}/>')

    def bar(self, x, y, width, height, fill):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}" rx="3" fill="{fill}"/>')

    def path(self, points, stroke, width=2.0, dash=""):
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        steps = " ".join(f"{'M' if i == 0 else 'L'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(points))
        self.parts.append(f'<path d="{steps}" fill="none" stroke="{stroke}" stroke-width="{width}" stroke-linejoin="round"{dashed}/>')

    def dot(self, x, y, fill, radius=3.5):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}"/>')

    def svg(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" width="{WIDTH}" height="{self.height}" '
                'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">\n'
                f'<rect width="100%" height="100%" fill="{self.palette.paper}"/>\n' + "\n".join(self.parts) + "\n</svg>\n")


def ratio_bars(palette, title, question, rows):
    """`rows`: (what, ratio, aim or None, figures). A bar is the ratio; a tick is the aim; the line at 1 is the peer."""
    top, each, left, right = 84, 46, 270, 150
    canvas = Canvas(top + each * len(rows) + 40, palette, title, question)
    most = max([1.5] + [max(ratio, aim or 0) for _, ratio, aim, _ in rows]) * 1.05
    scale = (WIDTH - left - right) / most
    for step in range(int(most) + 1):
        x = left + step * scale
        canvas.line(x, top - 8, x, top + each * len(rows), stroke=palette.ink if step == 1 else None)
        canvas.text(x, top + each * len(rows) + 18, f"{step} ×" if step else "0", fill=palette.faint, anchor="middle")
    for i, (what, ratio, aim, figures) in enumerate(rows):
        y = top + i * each
        good = aim is None or ratio <= aim
        canvas.text(24, y + 14, what, size=13)
        canvas.text(24, y + 30, figures, size=11, fill=palette.faint)
        canvas.bar(left, y + 4, ratio * scale, 20, palette.lines[0] if good else palette.lines[2])
        if aim is not None:
            canvas.line(left + aim * scale, y, left + aim * scale, y + 28, stroke=palette.lines[3], width=2.5)
        aimed = f"{ratio:.2f} ×" + (f" (aim {aim:g})" if aim is not None else "")
        canvas.text(left + max(ratio, aim or 0) * scale + 8, y + 19, aimed, size=12)
    return canvas.svg()


def _ticks(least, most):
    """1, 2 and 5 of every power of ten between the two."""
    step = 10 ** int(log10(least) // 1)
    found = []
    while step <= most:
        found += [step * digit for digit in (1, 2, 5) if least <= step * digit <= most]
        step *= 10
    return found


def short(number):
    return f"{number / 1000:g}k" if number >= 1000 else f"{number:g}"


def curves(palette, title, question, across, up, lines, bound=None, marks=()):
    """`lines`: (name, [(x, y)], dash); both axes are logarithmic. `bound` is (y, text); `marks` are (x, text, line)."""
    left, right, top, bottom, height = 70, 150, 84, 56, 400
    canvas = Canvas(height, palette, title, question)
    xs = [x for _, points, _ in lines for x, _ in points] + [x for x, _, _ in marks]
    ys = [y for _, points, _ in lines for _, y in points] + ([bound[0]] if bound else [])
    if not xs:
        return canvas.svg()
    x_least, x_most = min(xs) * 0.9, max(xs) * 1.1
    y_least, y_most = max(min(ys) * 0.8, 1e-3), max(ys) * 1.3
    place_x = lambda x: left + (log10(x) - log10(x_least)) / (log10(x_most) - log10(x_least)) * (WIDTH - left - right)
    place_y = lambda y: height - bottom - (log10(max(y, y_least)) - log10(y_least)) / (log10(y_most) - log10(y_least)) * (
        height - top - bottom)
    for tick in _ticks(y_least, y_most):
        canvas.line(left, place_y(tick), WIDTH - right, place_y(tick))
        canvas.text(left - 8, place_y(tick) + 4, short(tick), fill=palette.faint, anchor="end")
    for tick in sorted({x for _, points, _ in lines for x, _ in points}):
        canvas.line(place_x(tick), height - bottom, place_x(tick), height - bottom + 5)
        canvas.text(place_x(tick), height - bottom + 20, short(tick), fill=palette.faint, anchor="middle")
    canvas.text((left + WIDTH - right) / 2, height - 14, across, fill=palette.faint, anchor="middle")
    canvas.text(left - 46, top - 14, up, fill=palette.faint)
    if bound:
        canvas.line(left, place_y(bound[0]), WIDTH - right, place_y(bound[0]), stroke=palette.lines[3], width=1.5, dash="5 4")
        canvas.text(left + 6, place_y(bound[0]) - 6, bound[1], fill=palette.lines[3])
    for x, words, index in marks:
        colour = palette.lines[index % len(palette.lines)]
        canvas.line(place_x(x), top, place_x(x), height - bottom, stroke=colour, width=1.5, dash="2 4")
        canvas.text(place_x(x) - 4, top + 12 + 15 * index, words, fill=colour, anchor="end")
    taken = []
    for i, (name, points, dash) in enumerate(lines):
        colour = palette.lines[(i // 2 if dash is not None and len(lines) > 3 else i) % len(palette.lines)]
        places = [(place_x(x), place_y(y)) for x, y in points]
        canvas.path(places, colour, dash=dash or "")
        for x, y in places:
            canvas.dot(x, y, colour)
        y = places[-1][1] + 4
        while any(abs(y - other) < 15 for other in taken):
            y += 15
        taken.append(y)
        canvas.text(places[-1][0] + 10, y, name, fill=colour)
    return canvas.svg()
