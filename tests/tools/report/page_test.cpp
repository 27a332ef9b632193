// Pages: every block exists, and no text becomes markup.

#include "tools/report/page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/base/check.h"
#include "tests/tools/report/svg_oracle.h"
#include "tools/report/plot.h"

namespace shardline::tools {
namespace {

Page every_block(const std::string& text) {
  return {.title = text,
          .summary = text,
          .warnings = {text},
          .facts = {{text, text}},
          .sections = {{text,
                        {Paragraph{text}, Preformatted{text, false, ""}, Preformatted{text, true, text},
                         Figure{"<svg></svg>\n", text, {{7, text}}}, Table{{text, text}, {{text, text}}, 1}}}}};
}

TEST(Page, TextIsNeverMarkup) {
  const std::string html = to_html(every_block("<script>alert('\"&\")</script><img src=x onerror=y>"));
  for (const char* markup : {"<script", "<img", "onerror=y>", "alert('"}) EXPECT_EQ(occurrences(html, markup), 0);
  // Title twice, summary, warning, fact twice, heading, paragraph, two preformatted and a fold, caption, key, four
  // cells.
  EXPECT_EQ(occurrences(html, "&lt;script&gt;alert(&apos;&quot;&amp;&quot;)&lt;/script&gt;&lt;img src=x"), 17);
  EXPECT_EQ(occurrences(html, "<li value=\"7\">"), 1);
  EXPECT_EQ(occurrences(html, "<svg></svg>"), 1);
}

TEST(Page, LinesOfPreformattedTextStayApart) {
  Page page;
  page.sections = {{"program", {Preformatted{"a = b\n\n  c < d\n"}}}};
  EXPECT_NE(to_html(page).find("\na = b\n\n  c &lt; d\n</pre>"), std::string::npos);
}

TEST(Page, RefusesTheNetwork) {
  const std::string html = to_html(every_block("text"));
  EXPECT_NE(html.find("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "), std::string::npos);
  for (const char* reference : {"src=", "href=", "url(", "@import", "<script", "<link"}) {
    EXPECT_EQ(occurrences(html, reference), 0) << reference;
  }
}

TEST(Page, ARowHasACellForEachColumn) {
  Page page;
  page.sections = {{"table", {Table{{"a", "b"}, {{"1"}}, 1}}}};
  EXPECT_THROW(to_html(page), Error);
}

TEST(Page, FiguresTakeItsColours) {
  const std::string html = to_html({});
  for (const Ink& ink : inks()) {
    for (const char* use :
         {".f-{0} {{ fill: var(--{0}); }}", ".s-{0} {{ stroke: var(--{0}); }}", "--{0}: {1};", "--{0}: {2};"}) {
      EXPECT_EQ(occurrences(html, fmt::format(fmt::runtime(use), ink.name, ink.light, ink.dark)), 1) << use << ink.name;
    }
  }
}

}  // namespace
}  // namespace shardline::tools
