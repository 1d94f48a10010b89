/**
 * The age of an object as the API server shows it in tables.
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/util/duration#HumanDuration
 */

/** @param milliseconds may be a little below zero if clocks differ */
function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1_000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return `${minutes}m${rest(seconds % 60, 's')}`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return `${hours}h${rest(minutes % 60, 'm')}`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 24 * 8) return `${days}d${rest(hours % 24, 'h')}`;
  const years = Math.floor(days / 365);
  if (years < 2) return `${days}d`;
  if (years < 8) return `${years}y${rest(days % 365, 'd')}`;
  return `${years}y`;
}

function rest(count: number, unit: string): string {
  return count === 0 ? '' : `${count}${unit}`;
}

/** @param timestamp RFC 3339; empty if the object has none */
export function ageAt(now: number, timestamp: string): string {
  const since = Date.parse(timestamp);
  return Number.isNaN(since) ? '<unknown>' : humanDuration(now - since);
}
