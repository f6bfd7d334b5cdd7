// A person with a browser that keeps cookies and sends forms as the pages have them, with nothing but fetch.
import assert from 'node:assert/strict';

export const PASSWORD = 'correct horse battery';

const ENTITIES = { amp: '&', quot: '"', lt: '<', gt: '>', '#39': "'" };
const unescaped = (text) => text.replace(/&(amp|quot|lt|gt|#39);/g, (_, name) => ENTITIES[name]);

function attributes(tag) {
  return Object.fromEntries([...tag.matchAll(/\s([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, unescaped(value)]));
}

// The form of a page that leads to `action`: its fields with what they are filled with, a select with its first option.
function fields(page, action) {
  const form = [...page.matchAll(/<form([^>]*)>([^]*?)<\/form>/g)].find(([, tag]) => attributes(tag).action === action);
  assert.ok(form, `no form to ${action}: ${page}`);
  const filled = new URLSearchParams();
  for (const [, tag] of form[2].matchAll(/<input([^>]*)>/g)) {
    const { name, value = '' } = attributes(tag);
    if (name) filled.set(name, value);
  }
  for (const [, tag, options] of form[2].matchAll(/<select([^>]*)>([^]*?)<\/select>/g)) {
    const [, first] = /<option([^>]*)>/.exec(options) ?? [];
    if (first) filled.set(attributes(tag).name, attributes(first).value);
  }
  return filled;
}

export class Person {
  #jar = new Map();

  constructor(site) {
    this.site = site;
  }

  // Cookies are kept by host: ports share them (RFC 6265, 8.5).
  async load(url, form) {
    const target = new URL(url, this.site);
    const response = await fetch(target, {
      redirect: 'manual',
      method: form ? 'POST' : 'GET',
      body: form,
      headers: { cookie: [...this.#jar].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
      if (value === '') this.#jar.delete(name);
      else this.#jar.set(name, value);
    }
    const location = response.headers.get('location');
    return { status: response.status, url: target.href, page: await response.text(), location: location && new URL(location, target).href };
  }

  // Loads a page, follows redirects on this site, and fills in and sends its form to `action`.
  async submit(url, action, typed) {
    return this.fill(await this.follow(await this.load(url)), action, typed);
  }

  async fill({ page }, action, typed) {
    const form = fields(page, action);
    for (const [name, value] of Object.entries(typed)) form.set(name, value);
    return this.load(action, form);
  }

  // Goes where a response sends the browser, as long as that is on this site.
  async follow(response) {
    let at = response;
    for (let hops = 0; at.location?.startsWith(`${this.site}/`); hops += 1) {
      assert.ok(hops < 10, 'too many redirects');
      at = await this.load(at.location);
    }
    return at;
  }

  // Signs up; `mailed` finds the link in the mail.
  async signUp(email, mailed) {
    const asked = await this.submit('/oauth/signup', '/oauth/signup', { email, new_password: PASSWORD });
    assert.match(asked.page, /Look into your mailbox/);
    const confirmed = await this.submit(await mailed(email), '/oauth/confirm', { password: PASSWORD });
    assert.equal(confirmed.location, `${this.site}/oauth/account`, confirmed.page);
  }

  // Loads an authorization request, logs in where that is asked for, decides, and hands back where the browser is sent.
  async authorize(url, { email, decision = 'allow', workspace } = {}) {
    let at = await this.follow(await this.load(url));
    if (at.page?.includes('action="/oauth/login"')) {
      assert.ok(email, `a login is asked for: ${at.page}`);
      at = await this.follow(await this.fill(at, '/oauth/login', { email, password: PASSWORD }));
    }
    if (at.location) return new URL(at.location);
    assert.equal(at.status, 200, at.page);
    const answer = await this.fill(at, '/oauth/authorize', { decision, ...(workspace && { workspace }) });
    assert.equal(answer.status, 303, answer.page);
    return new URL(answer.location);
  }
}
