/**
 * The port that stands between unknown credentials and the backend that would have to be asked: it slows a
 * flood per source address and bounds the total. People with a cached identity never meet it.
 * Implemented in `flowcontrol/`.
 */
export interface UnknownCredentialGate {
  /**
   * Runs `work` when there is room for it.
   *
   * @param source the client's address
   * @throws StatusError CredentialRateExceeded where the source or the total is over its bound
   */
  enter<T>(source: string, work: () => Promise<T>): Promise<T>;
}
