/**
 * `stonegate quota`: what the user's tenant may use of the cluster, and what it uses.
 */
import {
  OWN_QUOTAS,
  type QuotaRow,
  quotaProblem,
  quotaRows,
  type ShownQuota,
} from '../features/quota/own-quota-v1alpha1.ts';
import { createAskingCommand } from './asking-command.ts';
import { columns } from './command.ts';
import { DESTINATION_USAGE } from './destination.ts';
import { createOwnObjectClient } from './own-object-client.ts';
import { StonegateAPIError } from './stonegate-api.ts';

const USAGE = `Usage: stonegate quota [--context NAME] [--kubeconfig FILE]
                       [-o table|json|yaml]
       stonegate quota --server URL [--ca-file FILE] --token-file FILE
                       [-o table|json|yaml]

Shows what all namespaces of your tenant may use together, and what they use.
+ is what is being created at the moment; what is not listed is not limited.

${DESTINATION_USAGE}
Exit codes: 0 fine, 1 not logged in, not reached or no quota, 2 wrong usage.
`;

export const quota = createAskingCommand(
  { usage: USAGE, options: {} },
  async ({ destination, print, note }) => {
    const list = await createOwnObjectClient<ShownQuota>(await destination(), OWN_QUOTAS).list();
    const [shown] = list.items;
    if (shown === undefined) throw new StonegateAPIError('your tenant has no quota');
    const object = { kind: 'TenantQuota', apiVersion: list.apiVersion, ...shown };
    await print(object, () => tableOf(shown));
    if (shown.status.used === undefined)
      note('nothing was counted yet: what needs more is refused until then');
    const problem = quotaProblem(shown);
    if (problem !== undefined) note(problem);
  },
);

function tableOf(shown: ShownQuota): string {
  const lines = quotaRows(shown).map((row) => [
    row.resource,
    usedText(row),
    row.hard,
    row.percent === undefined ? '' : `${barOf(row.percent)} ${row.percent} %`,
  ]);
  return columns([['RESOURCE', 'USED', 'HARD', ''], ...lines]);
}

function usedText({ used = '?', reserved }: QuotaRow): string {
  return reserved === undefined ? used : `${used} +${reserved}`;
}

const CELLS = 10;

/** A bar is full only if all is used. */
function barOf(percent: number): string {
  const filled = Math.min(CELLS, Math.floor((percent * CELLS) / 100));
  return '█'.repeat(filled) + '░'.repeat(CELLS - filled);
}
