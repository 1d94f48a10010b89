/**
 * What a watch of namespaces needs: the client's end, what it begins with, and which names are shown.
 */
import type { Clock } from '../../lib/clock.ts';
import type { ResponseForm } from '../lists/response-form.ts';
import type { AccessIndex } from '../ports.ts';
import type { LoggedChange } from './change-log.ts';
import type { NamespaceSelection } from './namespace-list.ts';
import type { ReviewFollower } from './reviews-of-user.ts';
import type { VisibleNamespaces } from './visible-namespaces.ts';

/** The client's end. */
export interface EventStream {
  readonly closed: boolean;
  /** False while the client has not taken what was written. */
  readonly isWritable: boolean;
  write(text: string): void;
  /** Calls back once, when the client has taken everything. */
  onDrain(callback: () => void): void;
  /** @param bytes that are held for the client in other places */
  holds(bytes: number): void;
  end(): void;
  /** Breaks the response off after an error, which is logged. */
  fail(error: unknown): void;
}

export interface NamespaceWatchOptions {
  readonly access: AccessIndex;
  readonly view: VisibleNamespaces;
  readonly selection: NamespaceSelection;
  readonly form: ResponseForm;
  readonly hasTenants: boolean;
  readonly clock: Clock;
  /** With what it begins: all objects; those that these changes concern; or nothing. */
  readonly start: 'all' | readonly LoggedChange[];
  /** The initial objects end with a bookmark that says so. */
  readonly marksInitialEvents: boolean;
  readonly allowsBookmarks: boolean;
  /** Absent if all visible names are shown. */
  readonly confirmation?: NameConfirmation;
}

/** Names that the API server has to confirm before they are shown. */
export interface NameConfirmation {
  /** The names that were reviewed before the watch began. */
  readonly reviewed: ReadonlySet<string>;
  /** Those of them that are shown. */
  readonly confirmed: ReadonlySet<string>;
  /** Names that were shown before, and are refused now. */
  readonly revoked: readonly string[];
  /** Whether a name that was not reviewed, or becomes visible, is shown. */
  readonly confirm: (name: string) => Promise<boolean>;
  /** Tells the watch of all further reviews of the user. @returns ends it */
  readonly follow: (watch: Omit<ReviewFollower, 'review' | 'postponed'>) => () => void;
}
