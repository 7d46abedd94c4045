"""SVG pictures for a light and for a dark page. Plain text: no library draws them."""

from dataclasses import dataclass
from html import escape
from math import floor, log10

WIDTH = 760
LETTER = 0.56  # of the font's size, on average: as wide as a letter may be taken to be


@dataclass(frozen=True)
class Palette:
    name: str
    paper: str
    ink: str
    faint: str
    grid: str
    good: str
    bad: str
    colours: dict

    def of(self, contender):
        return self.colours.get(contender, self.colours["other"])


LIGHT = Palette("light", "#ffffff", "#1f2328", "#59636e", "#d8dee4", "#1a7f37", "#cf222e",
                {"Muster": "#0969da", "bare": "#6e7781", "Redis": "#bc4c00", "other": "#8250df", "second": "#1a7f37"})
DARK = Palette("dark", "#0d1117", "#f0f6fc", "#9198a1", "#30363d", "#3fb950", "#f85149",
               {"Muster": "#4493f8", "bare": "#9198a1", "Redis": "#f0883e", "other": "#bc8cff", "second": "#3fb950"})


class Canvas:
    def __init__(self, height, palette, question, answer):
        """The question is the title; `answer` is a line or two under it."""
        self.height, self.palette, self.parts = height, palette, []
        self.text(24, 34, question, size=18, weight=600)
        for i, line in enumerate(answer):
            self.text(24, 56 + 18 * i, line, size=13, fill=palette.faint)

    def text(self, x, y, words, size=12, fill=None, anchor="start", weight=400):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill or self.palette.ink}" '
                          f'text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>')

    def line(self, x1, y1, x2, y2, stroke=None, width=1.0, dash=""):
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke or self.palette.grid}" '
                          f'stroke-width="{width}"{dashed}/>')

    def bar(self, x, y, width, height, fill):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}" rx="2" fill="{fill}"/>')

    def path(self, points, stroke, dash=""):
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        steps = " ".join(f"{'M' if i == 0 else 'L'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(points))
        self.parts.append(f'<path d="{steps}" fill="none" stroke="{stroke}" stroke-width="2" stroke-linejoin="round"{dashed}/>')

    def dot(self, x, y, fill):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{fill}" stroke="{self.palette.paper}" stroke-width="1.5"/>')

    def svg(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" width="{WIDTH}" height="{self.height}" '
                'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">\n'
                f'<rect width="100%" height="100%" fill="{self.palette.paper}"/>\n' + "\n".join(self.parts) + "\n</svg>\n")


def width_of(words, size=12):
    return LETTER * size * len(words)


def top_of(answer):
    return 56 + 18 * len(answer) + 14


RATIO_MOST = 3.0  # what is longer is cut off, and says so


def ratio_bars(palette, question, answer, rows):
    """`rows`: (work, figures, least, median, most, aim, at_least). The line at 1 is what each is measured beside."""
    top, each, left, right = top_of(answer), 44, 330, 160
    canvas = Canvas(top + each * len(rows) + 62, palette, question, answer)
    most = min(RATIO_MOST, max([1.6] + [max(high, aim) for _, _, _, _, high, aim, _ in rows]) * 1.02)
    scale = (WIDTH - left - right) / most
    bottom = top + each * len(rows)
    for half in range(int(most * 2) + 1):
        x = left + half / 2 * scale
        canvas.line(x, top - 4, x, bottom, stroke=palette.faint if half == 2 else None, width=1.5 if half == 2 else 1)
        if half % 2 == 0:
            canvas.text(x, bottom + 16, f"{half // 2} ×" if half else "0", fill=palette.faint, anchor="middle")
    for i, (work, figures, low, middle, high, aim, at_least) in enumerate(rows):
        y = top + i * each
        met = middle >= aim if at_least else middle <= aim
        place = lambda value: left + min(value, most) * scale
        canvas.text(24, y + 16, work, size=13)
        canvas.text(24, y + 32, figures, size=11, fill=palette.faint)
        canvas.bar(left, y + 8, place(middle) - left, 18, palette.of("Muster") if met else palette.bad)
        canvas.line(place(low), y + 30, place(high), y + 30, stroke=palette.ink, width=1.5)
        if aim <= most:
            canvas.line(place(aim), y + 3, place(aim), y + 33, stroke=palette.good, width=3)
        label = f"{middle:.2f} ×  (aim {'≥' if at_least else '≤'} {aim:g})"
        if middle > most:
            canvas.text(place(most) - 6, y + 21, "»", size=14, fill=palette.paper, anchor="end", weight=700)
        canvas.text(max(place(middle), place(aim)) + 9, y + 21, label, size=12)
    legend(canvas, bottom + 44, [("bar", palette.of("Muster"), "reached"), ("bar", palette.bad, "missed"), ("tick", palette.good, "aim"),
                                 ("line", palette.ink, "least to most of the rounds")])
    return canvas.svg()


def legend(canvas, y, entries, x=24):
    for kind, colour, words in entries:
        if kind == "bar":
            canvas.bar(x, y - 9, 12, 10, colour)
        elif kind == "tick":
            canvas.line(x + 6, y - 11, x + 6, y + 3, stroke=colour, width=3)
        else:
            canvas.line(x, y - 4, x + 14, y - 4, stroke=colour, width=2, dash="5 3" if kind == "dashed" else "")
        canvas.text(x + 19, y, words, size=12, fill=canvas.palette.faint)
        x += 19 + width_of(words) + 22


def value_bars(palette, question, answer, groups):
    """`groups`: (caption, unit, [(contender, words, value)], aim or None): each group has a scale of its own."""
    each, left, right = 26, 190, 150
    top = top_of(answer)
    canvas = Canvas(top + sum(30 + each * len(bars) + 10 for _, _, bars, _ in groups) + 12, palette, question, answer)
    y = top
    for caption, unit, bars, aim in groups:
        canvas.text(24, y + 16, caption, size=13, weight=600)
        y += 28
        most = max([value for _, _, value in bars] + ([aim] if aim else [])) or 1
        scale = (WIDTH - left - right) / most
        for contender, words, value in bars:
            canvas.text(left - 10, y + 14, words, size=12, anchor="end")
            canvas.bar(left, y + 2, value * scale, 16, palette.of(contender))
            after = left + value * scale + 8
            if aim and abs(aim * scale + left - after) < 20 + width_of(short(value) + unit):
                after = max(after, left + aim * scale + 8)
            canvas.text(after, y + 14, f"{short(value)} {unit}", size=12)
            y += each
        if aim:
            canvas.line(left + aim * scale, y - each * len(bars) - 3, left + aim * scale, y - 3, stroke=palette.good, width=2.5)
            canvas.text(left + aim * scale, y - each * len(bars) - 8, f"aim {short(aim)} {unit}", size=11, fill=palette.good,
                        anchor="end" if aim * scale > 400 else "middle")
        y += 12
    return canvas.svg()


@dataclass(frozen=True)
class Series:
    contender: str
    words: str
    points: list
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """`bound` is (value, words), a line across; `marks` are (x, words, contender), lines from top to bottom. The vertical axis is
    logarithmic unless it `starts_at_zero`."""

    caption: str
    across: str
    series: list
    bound: tuple = None
    marks: tuple = ()
    starts_at_zero: bool = False


def curves(palette, question, answer, panels, height=300):
    """Panels beside each other; the horizontal axis is logarithmic."""
    top = top_of(answer)
    canvas = Canvas(top + height + 70, palette, question, answer)
    width = WIDTH / len(panels)
    for i, panel in enumerate(panels):
        if any(series.points for series in panel.series):
            _panel(canvas, panel, i * width, width, top, height)
    return canvas.svg()


def _panel(canvas, panel, x0, width, top, height):
    palette = canvas.palette
    left, right = x0 + 62, x0 + width - (max(width_of(series.words) for series in panel.series) + 24)
    xs = [x for series in panel.series for x, _ in series.points]
    ys = [y for series in panel.series for _, y in series.points] + ([panel.bound[0]] if panel.bound else [])
    bottom = top + 22 + height - 22
    place_x = _scale(min(xs), max(xs), left + 12, right)
    y_least, y_most, ticks = _axis(ys, panel.starts_at_zero)
    place_y = (lambda y: bottom - (bottom - top - 26) * y / y_most) if panel.starts_at_zero else _scale(y_least, y_most, bottom, top + 26)
    canvas.text(x0 + 24, top + 10, panel.caption, size=12, weight=600)
    last = None
    for tick in ticks:
        y = place_y(tick)
        if last is not None and last - y < 15:
            continue
        last = y
        canvas.line(left, y, right, y)
        canvas.text(left - 8, y + 4, short(tick), fill=palette.faint, anchor="end")
    written = left - 100
    for tick in sorted(set(xs)):
        canvas.line(place_x(tick), bottom, place_x(tick), bottom + 5)
        if place_x(tick) - width_of(short(tick)) / 2 > written + 6:
            canvas.text(place_x(tick), bottom + 20, short(tick), fill=palette.faint, anchor="middle")
            written = place_x(tick) + width_of(short(tick)) / 2
    canvas.text((left + right) / 2, bottom + 42, panel.across, fill=palette.faint, anchor="middle")
    if panel.bound:
        canvas.line(left, place_y(panel.bound[0]), right, place_y(panel.bound[0]), stroke=palette.good, width=1.5, dash="5 4")
        above = place_y(panel.bound[0]) > top + 44  # there is room between it and the caption
        canvas.text(left + 6, place_y(panel.bound[0]) + (-6 if above else 15), panel.bound[1], fill=palette.good)
    for row, (x, words, contender) in enumerate(panel.marks):
        colour = palette.of(contender)
        canvas.line(place_x(x), top + 26, place_x(x), bottom, stroke=colour, width=1.5, dash="2 4")
        canvas.text(place_x(x) - 6, bottom - 8 - 17 * row, words, fill=colour, anchor="end", weight=600)  # below the curves
    ends = []
    for series in panel.series:
        places = [(place_x(x), place_y(max(y, y_least))) for x, y in series.points]
        if not places:
            continue
        canvas.path(places, palette.of(series.contender), dash="5 4" if series.dashed else "")
        for x, y in places:
            canvas.dot(x, y, palette.of(series.contender))
        ends.append([places[-1][1] + 4, places[-1][0] + 9, series])
    for y, x, series in _apart(ends):
        canvas.text(x, y, series.words, fill=palette.of(series.contender))


def _apart(ends, least=15):
    """Labels at the ends of lines, moved so that none lies on another."""
    ends = sorted(ends, key=lambda end: end[0])
    for _ in range(50):
        moved = False
        for upper, lower in zip(ends, ends[1:]):
            near = abs(upper[1] - lower[1]) < 160
            if near and lower[0] - upper[0] < least:
                middle = (upper[0] + lower[0]) / 2
                upper[0], lower[0], moved = middle - least / 2 - 0.1, middle + least / 2 + 0.1, True
        if not moved:
            break
    return ends


def _scale(least, most, begin, end):
    if least == most:
        return lambda value: (begin + end) / 2
    low, high = log10(least), log10(most)
    return lambda value: begin + (log10(value) - low) / (high - low) * (end - begin)


def _axis(values, starts_at_zero):
    """(least, most, ticks): from zero in equal steps, or from a 1, 2 or 5 to a 1, 2 or 5 over these."""
    most = max(values) or 1.0
    if starts_at_zero:
        step = next(step for step in _steps(most / 5) if step >= most / 5)
        count = int(most / step - 1e-9) + 1
        return 0.0, step * count, [step * i for i in range(count + 1)]
    least = min((value for value in values if value > 0), default=most)
    low = max(step for step in _steps(least) if step <= least * 1.001)
    high = min(step for step in _steps(most) if step >= most * 0.999)
    ticks, power = [], 10 ** floor(log10(low))
    while power <= high * 1.001:
        ticks += [power * digit for digit in (1, 2, 5) if low * 0.999 <= power * digit <= high * 1.001]
        power *= 10
    return low, high, ticks


def _steps(value):
    power = 10 ** floor(log10(value))
    return [power / 2, power, 2 * power, 5 * power, 10 * power]


def short(value):
    """A number as a label has room for it."""
    if value >= 1_000_000:
        return f"{value / 1_000_000:.3g}M"
    if value >= 10_000:
        return f"{value / 1000:.3g}k"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
