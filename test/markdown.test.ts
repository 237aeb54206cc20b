import { expect, test } from "vitest";
import { fencesIn } from "../scripts/check/markdown.ts";

const PAGE = `# Title

\`\`\`ts run
console.log(1);
\`\`\`

- a list
  \`\`\`sh run exit=7
  exit 7
  \`\`\`

\`\`\`\`text output
\`\`\` is text here
\`\`\`\`
`;

test("a page's fenced blocks are read in order, with line, info words and text", () => {
  expect(fencesIn("page.md", PAGE)).toEqual([
    { path: "page.md", line: 3, language: "ts", words: ["run"], text: "console.log(1);\n" },
    { path: "page.md", line: 8, language: "sh", words: ["run", "exit=7"], text: "exit 7\n" },
    { path: "page.md", line: 12, language: "text", words: ["output"], text: "``` is text here\n" },
  ]);
});

test("a block that is never closed ends with its page", () => {
  expect(fencesIn("page.md", "```sh run\nfalse")).toMatchObject([{ text: "false\n" }]);
});
