/** The dashboard of cross-tenant policies and published objects. */
import { type Dashboard, increase, series } from './dashboard.ts';

const POLICIES = 'controller="policies"';
const PUBLISHING = 'controller="publishing"';

export const SHARING: Dashboard = {
  name: 'sharing',
  title: 'Policies and published objects',
  description: 'Who may enter other tenants, and what the system copies to tenants.',
  rows: [
    {
      title: 'Cross-tenant policies',
      panels: [
        {
          title: 'Policies',
          description: 'In force by form; not-ready: grants nothing; the condition or the log says why.',
          unit: 'short',
          queries: [{ expr: `min by (form) (${series('stonegate_policies')})`, legend: '{{form}}' }],
        },
        {
          title: 'Age',
          description: 'Since the oldest proof of what policies follow from. Over 180 s it grants nothing.',
          unit: 's',
          queries: [
            {
              expr: `max by (instance) (${series('stonegate_policies_age_seconds')})`,
              legend: '{{instance}}',
            },
          ],
        },
        {
          title: 'Failed lists and watches',
          description: 'By resource and failure; docs/reference/metrics.md explains each failure.',
          unit: 'short',
          queries: [
            {
              expr: increase('stonegate_policies_failures_total', ['resource', 'failure']),
              legend: '{{resource}} {{failure}}',
            },
          ],
        },
        {
          title: 'Runs',
          description: 'Runs that make roles and bindings in tenants what policies say, by result.',
          unit: 'short',
          queries: [
            { expr: increase('stonegate_controller_runs_total', ['result'], POLICIES), legend: '{{result}}' },
          ],
        },
        {
          title: 'Changed roles and bindings',
          description: 'Created, updated and deleted in tenants.',
          unit: 'short',
          queries: [
            {
              expr: increase('stonegate_controller_changes_total', ['action'], POLICIES),
              legend: '{{action}}',
            },
          ],
        },
        {
          title: 'Ended streams of guests',
          description: 'Streams that ended because no policy allows them any more.',
          unit: 'short',
          queries: [
            {
              expr: increase('stonegate_streams_ended_total', ['kind'], 'reason="policy"'),
              legend: '{{kind}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Published objects',
      panels: [
        {
          title: 'Runs',
          description: 'By result; docs/reference/metrics.md explains each.',
          unit: 'short',
          queries: [
            {
              expr: increase('stonegate_controller_runs_total', ['result'], PUBLISHING),
              legend: '{{result}}',
            },
          ],
        },
        {
          title: 'Changed copies',
          description: 'Created, updated and deleted in tenants and namespaces.',
          unit: 'short',
          queries: [
            {
              expr: increase('stonegate_controller_changes_total', ['action'], PUBLISHING),
              legend: '{{action}}',
            },
          ],
        },
        {
          title: 'Since the last success',
          description: 'Since a run without failures.',
          unit: 'dtdurations',
          queries: [
            {
              expr: `time() - max(${series('stonegate_controller_last_success_timestamp_seconds', PUBLISHING)})`,
              legend: 'last success',
            },
          ],
          isNumber: true,
        },
        {
          title: 'Not copied',
          description: 'Of the last run; stonegate publish --dry-run lists what is refused.',
          unit: 'short',
          queries: [
            { expr: `max(${series('stonegate_controller_refusals', PUBLISHING)})`, legend: 'refusals' },
            { expr: `max(${series('stonegate_controller_failures', PUBLISHING)})`, legend: 'failures' },
          ],
        },
      ],
    },
  ],
};
