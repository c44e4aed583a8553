/// Calls back at a time: the courier's only way to wait.
package protocol Alarm: Sendable {
    /// Calls `action` once, on any thread, when `time` (milliseconds since 1970) has come; earlier does no harm.
    func ring(at time: Int64, _ action: @escaping @Sendable () -> Void)
}
