/// What a request has earned.
struct APNsVerdict {
    /// Echoed, or made up where the request brought none.
    var id: String
    /// Nil for success.
    var refusal: APNsRefusal?
    /// The provider proved who it is, whatever became of the rest.
    var isAuthorized: Bool
}
