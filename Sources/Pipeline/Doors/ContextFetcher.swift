/// Who asks relays for what notifications speak of, and for what decides about them.
package protocol ContextFetcher: Sendable {
    /// Asks for those profiles (kind 0), events, contact lists (kind 3) and other lists, and for contact lists that settle
    /// `distances`, and returns at once. What is found goes into the
    /// intake as ``RelayReading/fetched``. Calls `completion` once, on any thread, after the last of it is there, or
    /// when there is nothing more to hope for; `isAnswered` says whether any relay said that this was all.
    func fetch(_ wants: ContextWants, completion: @escaping @Sendable (_ isAnswered: Bool) -> Void)
}
