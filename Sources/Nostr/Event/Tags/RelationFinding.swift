/// What an event's tags, and what is known of the events they name, say about its relation to somebody.
package struct RelationFinding: Hashable, Sendable {
    /// Nil when the event has nothing to do with them.
    package var relation: Relation?
    /// The event whose author would settle it; nil when it is settled. Until then ``relation`` is a guess.
    package var openQuestion: EventID?
}
