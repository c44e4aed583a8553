/// What waits in an intake at a moment.
package struct IntakeBacklog: Sendable, Hashable {
    package var events: Int
    package var bytes: Int
    /// How many events may wait.
    package var limit: Int
}
