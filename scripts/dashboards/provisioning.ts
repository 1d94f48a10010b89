/** The dashboard of provisioning. */
import { type Dashboard, increase, series } from './dashboard.ts';

const PERIODIC = 'controller="bindings"';
const BINDINGS = 'controller=~"bindings.*"';

export const PROVISIONING: Dashboard = {
  name: 'provisioning',
  title: 'Provisioning',
  description: 'Namespaces, roles and bindings that Stonegate makes from Keystone’s role assignments.',
  rows: [
    {
      title: 'Runs',
      panels: [
        {
          title: 'Runs',
          description: 'By controller and result; docs/reference/metrics.md explains each result.',
          unit: 'short',
          queries: [
            {
              expr: increase('stonegate_controller_runs_total', ['controller', 'result'], BINDINGS),
              legend: '{{controller}} {{result}}',
            },
          ],
        },
        {
          title: 'Changed objects',
          description: 'Objects that were created, updated and deleted at the API server.',
          unit: 'short',
          queries: [
            {
              expr: increase('stonegate_controller_changes_total', ['action'], BINDINGS),
              legend: '{{action}}',
            },
          ],
        },
        {
          title: 'Since the last success',
          description: 'Since a periodic run without failures.',
          unit: 'dtdurations',
          queries: [
            {
              expr: `time() - max(${series('stonegate_controller_last_success_timestamp_seconds', PERIODIC)})`,
              legend: 'last success',
            },
          ],
          isNumber: true,
        },
      ],
    },
    {
      title: 'What waits for an operator',
      panels: [
        {
          title: 'Held back',
          description: 'Role bindings whose deletion requires stonegate sync --force.',
          unit: 'short',
          queries: [
            { expr: `max(${series('stonegate_controller_held_back', PERIODIC)})`, legend: 'held back' },
          ],
        },
        {
          title: 'Not provisioned',
          description: 'Projects, domains and users of the last run; stonegate sync --dry-run says why.',
          unit: 'short',
          queries: [{ expr: `max(${series('stonegate_controller_refusals', PERIODIC)})`, legend: 'refused' }],
        },
      ],
    },
  ],
};
