extension TransportInstance {
    /// What the plugin answers to the command `status`; nil for a plugin that does not know it, or does not answer in
    /// time.
    ///
    /// Something must go on calling ``expireDeadlines()`` meanwhile.
    package func status() async -> TransportStatus? {
        guard let answer = try? await command(["status"], within: 5_000) else { return nil }
        return TransportStatus(answer: answer)
    }
}
