/// A line that was refused, for the operator.
struct FeedComplaint: Sendable, Equatable {
    let line: Int
    let reason: String
    /// How many more were refused since the last complaint.
    let others: Int
}
