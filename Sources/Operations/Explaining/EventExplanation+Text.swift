extension EventExplanation {
    package var text: String {
        var lines = ["event \(event)", "      \(note)"]
        lines += steps.map { "  \($0.text)" }
        for account in accounts {
            lines += ["", account.npub]
            lines += account.steps.map { "  \($0.text)" }
            if let outcome = account.outcome { lines.append("  → \(outcome)") }
            for device in account.devices { lines += device.lines }
        }
        if !advice.isEmpty { lines += [""] + advice }
        return lines.joined(separator: "\n")
    }
}

extension EventExplanation.Line {
    /// Seconds are enough for people.
    fileprivate var text: String {
        "\(at.prefix(10)) \(at.dropFirst(11).prefix(8)) UTC  \(words)"
    }
}

extension EventExplanation.Device {
    fileprivate var lines: [String] {
        var title = "  device \(device)"
        if let platform, let app { title += ", \(platform)/\(app)" }
        if let name, !name.isEmpty { title += ", \(name)" }
        if !isRegistered { title += " (registered no more)" }
        return [title] + steps.map { "    \($0.text)" } + ["    → \(outcome)"]
    }
}
