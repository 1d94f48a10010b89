/** The HTML of the stand-in provider’s pages: plain, and readable in light and dark mode and on a phone. */

const STYLE = `
:root { color-scheme: light dark; --page: #f4f1ea; --card: #fff; --text: #22201c; --line: #8a8478; --button: #7a3e12; --on: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --page: #161412; --card: #221f1b; --text: #eee9e0; --line: #8a8478; --button: #f0b07f; --on: #22140a; }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 10vh 1rem 2rem; background: var(--page); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 24rem; margin: 0 auto; padding: 1.75rem; background: var(--card); border-radius: .75rem; }
h1 { margin: 0 0 1rem; font-size: 1.4rem; }
label, input, button { display: block; width: 100%; font: inherit; }
input, button { margin: .3rem 0 .9rem; padding: .55rem .75rem; color: inherit; background: none; border: 1px solid var(--line); border-radius: .4rem; }
button { margin: .6rem 0 0; font-weight: 600; cursor: pointer; }
button:not([name]) { color: var(--on); background: var(--button); border-color: var(--button); }
`;

/** @param content HTML */
export function providerPage(title: string, content: string) {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${STYLE}</style>
<main>
<h1>${title}</h1>
${content}
</main>
</html>
`;
}
