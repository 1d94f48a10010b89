/**
 * The page "Quota": what the user's tenant may use of the cluster, and what it uses, with a bar for each
 * resource. On a phone each row becomes a block.
 */
import { type Html, html } from '../../lib/html.ts';
import type { PortalPage, Visit } from '../../proxy/portal-page.ts';
import type { Identity } from '../../tenancy/identity.ts';
import { filterForm, rowsOf } from '../page-rows.ts';
import { OWN_QUOTAS, type QuotaRow, quotaProblem, quotaRows, type ShownQuota } from './own-quota-v1alpha1.ts';

/** @param quotaOf the quota of a user's tenant; undefined if it has none */
export function quotaPage(quotaOf: (identity: Identity) => Promise<ShownQuota | undefined>): PortalPage {
  return {
    path: '/quota',
    navigation: { label: 'Quota', order: 5 },
    standsFor: () => ({ verb: 'list', resource: OWN_QUOTAS }),
    async show(page) {
      const quota = await quotaOf(page.identity);
      const problem = quota && quotaProblem(quota);
      return {
        title: 'Quota',
        lead: html`What all namespaces of <span class="tag">${page.account.tenant}</span> may use together`,
        main:
          quota === undefined
            ? html`<section class="card"><p>Your tenant has no quota.</p></section>`
            : html`${resources(quotaRows(quota), page)}${problem !== undefined && html`<p class="also">${problem}</p>`}`,
      };
    },
  };
}

function resources(all: readonly QuotaRow[], page: Pick<Visit, 'path' | 'filter'>): Html {
  const rows = rowsOf(page);
  const shown = rows.take(all, ({ resource }) => resource);
  return html`${filterForm(page, rows.hint)}<section class="card">${table(shown)}</section>`;
}

function table(rows: readonly QuotaRow[]): Html {
  const isReserved = rows.some(({ reserved }) => reserved !== undefined);
  const isCounted = rows.every(({ used }) => used !== undefined);
  return html`<table class="sheet rows quota">
<caption>What is not listed is not limited by this quota</caption>
<thead><tr><th scope="col">Resource</th><th scope="col">Used</th><th scope="col">Allowed</th><th scope="col">Share</th></tr></thead>
<tbody>
${rows.map(tableRow)}</tbody>
</table>
${isReserved && html`<p class="also">+ is what is being created at the moment.</p>`}${!isCounted && html`<p class="also">? was not counted yet: what needs more of it is refused until then.</p>`}`;
}

/** Percent from which a bar has the colour of a warning. */
const HIGH = 90;

function tableRow({ resource, used = '?', reserved, hard, percent }: QuotaRow): Html {
  const [first = '', ...others] = resource.split('.');
  return html`<tr${percent !== undefined && percent >= HIGH && html` class="high"`}><th scope="row"><code>${first}${others.map((part) => html`<wbr>.${part}`)}</code></th><td data-label="used">${used}${reserved !== undefined && ` +${reserved}`}</td><td data-label="of">${hard}</td><td>${percent !== undefined && bar(resource, percent)}</td></tr>
`;
}

function bar(resource: string, percent: number): Html {
  return html`<div class="gauge"><progress max="100" value="${Math.min(percent, 100)}" aria-label="${resource}: ${percent} percent used"></progress><span>${percent} %</span></div>`;
}
