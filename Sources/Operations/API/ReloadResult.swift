import YAMLReading

/// What came of reading the configuration anew.
package enum ReloadResult: Sendable {
    /// It is in force; `restart` are the keys of the file whose changes take a restart, `warnings` what is hardly
    /// meant, `refused` the plugins that were not taken, and why.
    case done(restart: [String], warnings: [Diagnostic], refused: [Diagnostic])
    /// The old one stays in force, for these reasons.
    case refused(Diagnostics)
    /// Another reload is under way.
    case busy
}
