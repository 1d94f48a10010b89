/**
 * The pages on which a user confirms a device code. The default pages of `oidc-provider` print a warning that
 * they should be replaced.
 * https://www.rfc-editor.org/rfc/rfc8628#section-3.3
 */
import type { KoaContextWithOIDC } from 'oidc-provider';
import { providerPage } from './provider-page.ts';

const TITLE = 'Log in on a device';

/** For `features.deviceFlow`. The forms are the provider's; the buttons are outside of the forms. */
export const DEVICE_PAGES = {
  userCodeInputSource(ctx: KoaContextWithOIDC, form: string, _out?: unknown, error?: Error) {
    const text = error === undefined ? 'Enter the code that your device shows.' : 'That did not work. Again?';
    ctx.body = providerPage(
      TITLE,
      `<p>${text}</p>\n${form}\n<button type="submit" form="op.deviceInputForm">Go on</button>`,
    );
  },
  userCodeConfirmSource(
    ctx: KoaContextWithOIDC,
    form: string,
    _client: unknown,
    _device: unknown,
    userCode: string,
  ) {
    const button = (rest: string) => `<button type="submit" form="op.deviceConfirmForm" ${rest}</button>`;
    ctx.body = providerPage(
      TITLE,
      `<p>Does your device show <code>${userCode}</code>?</p>\n${form}\n${button('>Yes')}\n${button('name="abort" value="yes">Cancel')}`,
    );
  },
  successSource(ctx: KoaContextWithOIDC) {
    ctx.body = providerPage(TITLE, '<p>Logged in. Go back to your device.</p>');
  },
};
