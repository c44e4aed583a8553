/// Where a verdict belongs that comes later than others of its submission.
struct AnswerPlace: Hashable {
    /// The submission's number.
    let submission: Int
    /// The event's place in it.
    let position: Int
}
