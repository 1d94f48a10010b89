/**
 * A Grafana dashboard as JSON, from rows of panels. Each query is limited to the chosen jobs and instances.
 * https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/
 */

export interface Query {
  /** PromQL, with Grafana's `$__rate_interval`. */
  readonly expr: string;
  /** Label names in `{{ }}` are replaced by their values. */
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  /** What the operator reads from it. */
  readonly description: string;
  /** A unit of Grafana: `reqps`, `s`, `short`, `bytes`, `percentunit`, `dtdurations`. */
  readonly unit: string;
  readonly queries: readonly Query[];
  /** One number instead of a graph. */
  readonly isNumber?: boolean;
}

export interface Dashboard {
  /** The file's name, and the end of the dashboard's UID. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly rows: readonly { readonly title: string; readonly panels: readonly Panel[] }[];
}

const SELECTED = 'job=~"$job",instance=~"$instance"';
const DATASOURCE = { type: 'prometheus', uid: '$datasource' };
const COLUMNS = 24;
const PANEL_HEIGHT = 8;

/** The chosen instances' series of a metric. */
export function series(metric: string, labels = ''): string {
  return `${metric}{${SELECTED}${labels === '' ? '' : `,${labels}`}}`;
}

/** The rate of a counter in events a second, summed by these labels. */
export function perSecond(metric: string, by: readonly string[], labels = ''): string {
  return sumBy(by, `rate(${series(metric, labels)}[$__rate_interval])`);
}

/** How many events there were, summed by these labels. */
export function increase(metric: string, by: readonly string[], labels = ''): string {
  return sumBy(by, `increase(${series(metric, labels)}[$__rate_interval])`);
}

export function sumBy(by: readonly string[], expr: string): string {
  return by.length === 0 ? `sum(${expr})` : `sum by (${by.join(', ')}) (${expr})`;
}

/** The median and the 99th percentile of a histogram in seconds. */
export function percentiles(metric: string, by: readonly string[], labels = ''): Query[] {
  const legend = by.map((label) => `{{${label}}} `).join('');
  return [0.5, 0.99].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, ${perSecond(`${metric}_bucket`, ['le', ...by], labels)})`,
    legend: `${legend}p${quantile * 100}`,
  }));
}

/** The text of the dashboard's file. */
export function dashboardJSON({ name, title, description, rows }: Dashboard): string {
  let y = 0;
  const panels: object[] = [];
  for (const row of rows) {
    panels.push({
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    });
    const width = COLUMNS / row.panels.length;
    row.panels.forEach((panel, at) => {
      const gridPos = { x: at * width, y: y + 1, w: width, h: PANEL_HEIGHT };
      panels.push({ gridPos, ...panelJSON(panel) });
    });
    y += PANEL_HEIGHT + 1;
  }
  const dashboard = {
    uid: `stonegate-${name}`,
    title: `Stonegate / ${title}`,
    description,
    tags: ['stonegate'],
    editable: true,
    graphTooltip: 1,
    schemaVersion: 39,
    time: { from: 'now-6h', to: 'now' },
    refresh: '1m',
    templating: { list: variables() },
    panels: panels.map((panel, at) => ({ id: at + 1, ...panel })),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

function panelJSON({ title, description, unit, queries, isNumber = false }: Panel): object {
  return {
    type: isNumber ? 'stat' : 'timeseries',
    title,
    description,
    datasource: DATASOURCE,
    fieldConfig: { defaults: { unit, ...(isNumber ? {} : { min: 0 }) }, overrides: [] },
    options: isNumber
      ? { reduceOptions: { calcs: ['lastNotNull'] } }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(({ expr, legend }, at) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + at),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
    })),
  };
}

function variables(): object[] {
  const values = (name: string, query: string): object => ({
    name,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: name },
    refresh: 2,
    includeAll: true,
    multi: true,
    current: { text: 'All', value: '$__all' },
  });
  return [
    { name: 'datasource', type: 'datasource', query: 'prometheus' },
    values('job', 'label_values(stonegate_connections_open, job)'),
    values('instance', 'label_values(stonegate_connections_open{job=~"$job"}, instance)'),
  ];
}
