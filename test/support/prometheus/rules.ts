/** The rules of `config/alerts`, and the queries of `config/dashboards`, as they are delivered. */
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parse } from 'yaml';

export const RULES = 'config/alerts/stonegate.yaml';
/** The runbook in the alerts, unless an operator or a release has set another one. */
export const RUNBOOK = 'https://stonegate.dev/docs/operations.md';

export interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

export interface Alert extends Rule {
  readonly alert: string;
}

export function alerts(): Alert[] {
  const { groups }: RuleFile = parse(readFileSync(RULES, 'utf8'));
  return groups
    .flatMap(({ rules }) => rules)
    .flatMap((rule) => (rule.alert === undefined ? [] : [{ ...rule, alert: rule.alert }]));
}

export interface DashboardQuery {
  /** The dashboard, the panel and the id of the query. */
  readonly name: string;
  readonly expr: string;
}

interface DashboardFile {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
  }[];
}

/** The queries that Grafana sends if all jobs and instances are selected. */
export function dashboardQueries(rateInterval: string): DashboardQuery[] {
  return globSync('config/dashboards/*.json')
    .sort()
    .flatMap((file) => {
      const { panels }: DashboardFile = JSON.parse(readFileSync(file, 'utf8'));
      return panels.flatMap(({ title, targets = [] }) =>
        targets.map(({ refId, expr }) => ({
          name: `${basename(file, '.json')}: ${title} ${refId}`,
          expr: expr
            .replaceAll('$__rate_interval', rateInterval)
            .replaceAll('"$job"', '".*"')
            .replaceAll('"$instance"', '".*"'),
        })),
      );
    });
}
