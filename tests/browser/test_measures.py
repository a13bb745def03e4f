"""Speed, size and layout of a site as large as that of a real run."""

import gzip
import json

import pytest
from playwright import sync_api

from tests.browser.conftest import DESK, PHONE, Open, Site

pytestmark = pytest.mark.browser

CLIPPED = """() => [...document.querySelectorAll('main :is(th, td, dd, dt, li, p):not(.names > *)')].filter(one =>
    one.offsetParent && (one.scrollWidth > one.clientWidth + 1) && getComputedStyle(one).overflowX !== 'auto')
  .map(one => one.outerHTML.slice(0, 100))"""
OVER = """() => [...document.querySelectorAll('.ranked tr')].filter(row => row.offsetParent).flatMap(row => {
    const cells = [...row.cells].map(cell => { const range = document.createRange(); range.selectNodeContents(cell);
      return [range.getBoundingClientRect(), cell]; });
    return cells.slice(1).filter(([box], at) => box.width && cells[at][0].right > box.left + 1 && at > 0)
      .map(([, cell]) => cell.innerText);
  }).slice(0, 5)"""
COVERED = """one => { one.focus(); const box = one.getClientRects()[0];
  const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  return !one.contains(top) && top.outerHTML.slice(0, 100); }"""
SHIFT = """() => new Promise(done => { let sum = 0;
  new PerformanceObserver(list => { for (const one of list.getEntries()) sum += one.value; })
    .observe({ type: 'layout-shift', buffered: true }); setTimeout(() => done(sum), 300); })"""
RANK = """key => new Promise(done => { const select = document.querySelector('.ask select');
  const start = performance.now(); select.value = key; select.dispatchEvent(new Event('change', { bubbles: true }));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start))); })"""
STOPS = """() => [...document.querySelectorAll('a[href], button, select, input, summary, [tabindex="0"]')]
  .filter(one => one.offsetParent && !one.closest('details:not([open]) > :not(summary)')).length"""


def test_first_screen_holds_the_whole_answer(site: Site, visit: Open) -> None:
    for view in (DESK, PHONE):
        page = visit(site.at("index.html"), viewport=view)
        for name in ("h1", ".ask select[name=q]", ".best", ".about", ".evidence", ".people", ".dots"):
            box = page.locator(name).bounding_box()
            assert box is not None, name
            assert box["y"] + (0 if name == ".dots" else box["height"]) <= view["height"], (name, box)
        text = page.locator("#sentence").inner_text()
        for part in ("Spearman", "±", "s per 1,000 items", "One rater", "established", "parameters"):
            assert part in text
        first = page.locator(".ranked tbody tr:visible").first.bounding_box()
        assert first is not None
        assert view is PHONE or first["y"] < 900


def test_site_is_small_and_drawn_quickly(site: Site, visit: Open) -> None:
    front, largest = site.files["index.html"], max(site.pages, key=lambda path: len(site.files[path]))
    page = visit(site.at("index.html"))
    elements = page.evaluate("document.querySelectorAll('*').length")
    screens = {}
    for path in site.kinds:
        page.goto(site.at(path))
        screens[path] = page.evaluate("document.documentElement.scrollHeight / innerHeight")
    assert len(front) <= 300_000
    assert len(gzip.compress(front)) <= 80_000
    assert elements <= 4000
    assert len(site.files[largest]) <= 250_000, largest
    assert max(screens.values()) <= 12, screens
    assert sum(map(len, site.files.values())) <= 8_000_000
    assert site.seconds < 8, "3 on an idle CPU"


def test_front_page_loads_in_a_quarter_second_of_cpu_time(site: Site, browser: sync_api.Browser) -> None:
    """Load on caches and sibling threads can only add CPU time, so the fastest of up to twelve loads counts."""
    seconds: list[float] = []
    while len(seconds) < 12 and min(seconds, default=1.0) >= 0.25:
        page = browser.new_page(viewport=DESK)
        browser.start_tracing(page=page, categories=["disabled-by-default-devtools.timeline"])
        page.goto(site.at("index.html"))
        page.wait_for_timeout(200)
        events = json.loads(browser.stop_tracing())["traceEvents"]
        page.close()
        main = {(event["pid"], event["tid"]) for event in events
                if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"}
        seconds.append(sum(event.get("tdur", 0) for event in events
                           if event["name"] == "RunTask" and (event["pid"], event["tid"]) in main) / 1e6)
    assert 0.01 < min(seconds) < 0.25, seconds


def test_selection_is_fast_and_layout_is_stable(site: Site, visit: Open) -> None:
    page = visit(site.at("index.html"))
    assert page.evaluate(SHIFT) < 0.05
    for slower, limit in ((1, 100), (4, 400)):
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
        assert min(page.evaluate(RANK, f"dev:{key}") for key in ("engagement", "understandability", "overall")) < limit


def test_tab_skips_to_the_content_and_soon_reaches_the_first_control(site: Site, visit: Open) -> None:
    page = visit(site.at("index.html"))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0  # type: ignore[index]
    stops = 1
    while not page.evaluate("document.activeElement.matches('.ask select')"):
        page.keyboard.press("Tab")
        stops += 1
        assert stops <= 12
    assert page.evaluate(STOPS) <= 150
    page.locator(".skip").press("Enter")
    assert page.url.endswith("#main")


@pytest.mark.parametrize("view", [DESK, PHONE, {"width": 320, "height": 640}], ids=["desk", "phone", "narrow"])
def test_focus_is_not_hidden_in_a_scrolled_table(site: Site, visit: Open, view: sync_api.ViewportSize) -> None:
    page = visit(site.at("index.html"), viewport=view)
    for path in ("index.html", "methods.html", next(path for path in site.pages if path.startswith("dataset/"))):
        page.goto(site.at(path))
        for box in page.locator(".scroll:has(tbody a):visible").all():
            for one in (*box.locator("tbody a:visible").all()[:3], *box.locator("thead button, .csv").all()[:5]):
                box.evaluate("box => box.scrollTo(box.scrollWidth, box.scrollHeight)")
                assert one.evaluate(COVERED) is False, (path, one)


def test_no_cell_is_clipped_and_no_text_overlaps(site: Site, visit: Open) -> None:
    for width in (390, 768, 1400):
        page = visit(site.at("index.html"), viewport={"width": width, "height": 900})
        for path in site.kinds:
            page.goto(site.at(path))
            assert page.evaluate(CLIPPED) == [], (path, width)
        page.goto(site.at("index.html"))
        assert page.evaluate(OVER) == [], width
    edge = page.locator(".scroll:has(.ranked)").bounding_box()
    heads = page.locator(".ranked thead th.number").all()
    boxes = [box for head in heads if (box := head.bounding_box()) is not None]
    assert edge is not None
    assert sum(box["x"] + box["width"] <= edge["x"] + edge["width"] + 1 for box in boxes) >= 8
