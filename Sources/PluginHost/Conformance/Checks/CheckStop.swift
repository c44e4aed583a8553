/// Why a check did not pass.
enum CheckStop: Error {
    /// What the plugin does, and what it should do.
    case failed(String)
    case skipped(String)

    /// What is to be judged did not happen, and there is another check for that.
    static let unended = CheckStop.skipped("a delivery did not end, which another check reports")
}
