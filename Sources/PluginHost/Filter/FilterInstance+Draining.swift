extension FilterInstance {
    /// ``drain(deadline:)``, with a deadline `milliseconds` from now.
    package func drain(within milliseconds: Int64) async -> Bool { await drain(deadline: now() + milliseconds) }
}
