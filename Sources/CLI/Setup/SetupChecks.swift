import Cipher
import Storage

/// Checks of single answers. Each returns the answer in canonical form, or throws what was expected.
enum SetupChecks {
    /// Reads one of `names`, or its number in the list.
    static func choice(_ text: String, among names: [String]) throws(SetupError) -> String {
        if let number = Int(text), names.indices.contains(number - 1) { return names[number - 1] }
        let word = text.lowercased()
        if names.contains(word) { return word }
        throw SetupError(
            "\(shown(text)) is none of \(names.joined(separator: ", "))\(NearestName.hint(word, among: names))"
        )
    }

    /// Reads some of `names`. Returns them without duplicates, in the order of `names`.
    static func choices(_ text: String, among names: [String]) throws(SetupError) -> String {
        var chosen: Set<String> = []
        for member in SetupText.members(text) { chosen.insert(try choice(member, among: names)) }
        guard !chosen.isEmpty else { throw SetupError("expected at least one of \(names.joined(separator: ", "))") }
        return names.filter(chosen.contains).joined(separator: ", ")
    }

    /// Reads `host:port` with an IPv4 address, or an IPv6 address in brackets.
    static func listenAddress(_ text: String) throws(SetupError) -> String {
        let refusal = SetupError("expected an address and a port, as in 127.0.0.1:7447 or [::1]:7447")
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]) else {
            throw refusal
        }
        let host = text[..<colon]
        let isV6 = host.hasPrefix("[") && host.hasSuffix("]") && host.dropFirst().dropLast().allSatisfy(isOfIPv6)
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let isV4 =
            parts.count == 4
            && parts.allSatisfy { part in
                part.allSatisfy(isDigit) && Int(part).map { (0...255).contains($0) } == true
            }
        guard isV4 || isV6 else { throw refusal }
        guard (0...65_535).contains(port) else { throw SetupError("expected a port from 1 to 65535") }
        return "\(host):\(port)"
    }

    /// Reads the public address of the relay socket, and returns it with `wss://` or `ws://`. Default: `wss://`.
    static func publicURL(_ text: String) throws(SetupError) -> String {
        if text == "none" { return "" }
        let refusal = SetupError("expected the router's public name, as in wss://notify.example.com, or none")
        var rest = text
        var scheme = "wss"
        if let range = text.firstRange(of: "://") {
            scheme =
                ["https": "wss", "http": "ws"][text[..<range.lowerBound].lowercased()]
                ?? text[..<range.lowerBound].lowercased()
            rest = String(text[range.upperBound...])
        }
        if rest.hasSuffix("/") { rest.removeLast() }
        guard ["wss", "ws"].contains(scheme), isHost(rest) else { throw refusal }
        return "\(scheme)://\(rest.lowercased())"
    }

    /// Reads addresses of relays, without duplicates.
    static func relays(_ text: String) throws(SetupError) -> String {
        if text == "none" { return "" }
        var relays: [String] = []
        for member in SetupText.members(text) {
            let url = member.contains("://") ? member : "wss://" + member
            guard let range = url.firstRange(of: "://"), ["wss", "ws"].contains(url[..<range.lowerBound].lowercased())
            else { throw SetupError("\(shown(member)): expected a relay, as in wss://relay.example.com") }
            let rest = url[range.upperBound...]
            let host = rest.prefix { $0 != "/" }
            guard isHost(String(host)), rest.unicodeScalars.allSatisfy(isOfURL) else {
                throw SetupError("\(shown(member)): expected a relay, as in wss://relay.example.com")
            }
            if !relays.contains(url) { relays.append(url) }
        }
        guard relays.count <= 20 else { throw SetupError("expected at most 20 relays; the router finds users' own") }
        return relays.joined(separator: ", ")
    }

    /// Reads a contact address of the operator for people or for a push service's staff.
    static func mail(_ text: String) throws(SetupError) -> String {
        let address = text.hasPrefix("mailto:") ? String(text.dropFirst(7)) : text
        let parts = address.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, parts[0].unicodeScalars.allSatisfy(isOfURL),
            parts[1].contains("."), isHost(String(parts[1])), !parts[1].contains(":")
        else { throw SetupError("expected an e-mail address, as in ops@your-domain.org") }
        return address
    }

    /// Reads the subject of Web Push tokens. Apple rejects addresses that cannot exist.
    static func subject(_ text: String) throws(SetupError) -> String {
        if text.hasPrefix("https://"), isHost(String(text.dropFirst(8).prefix { $0 != "/" })) { return text }
        return "mailto:" + (try mail(text))
    }

    /// Reads a team or key id of Apple: ten capital letters and digits.
    static func appleID(_ text: String, _ where: String) throws(SetupError) -> String {
        let text = text.uppercased()
        guard text.utf8.count == 10, text.unicodeScalars.allSatisfy({ isLetterOrDigit($0) }) else {
            throw SetupError("expected ten letters and digits, as in ABCDEFGHIJ; \(`where`)")
        }
        return text
    }

    /// Reads the bundle id of an app.
    static func bundle(_ text: String) throws(SetupError) -> String {
        guard text.contains("."), text.utf8.count <= 200,
            text.unicodeScalars.allSatisfy({ isLetterOrDigit($0) || $0 == "." || $0 == "-" })
        else { throw SetupError("expected the app's bundle id, as in com.example.app") }
        return text
    }

    /// Reads `https://` or `http://`, and a host with an optional port. A bare host gets `https://`.
    static func origin(_ text: String, expected: String = "https://ntfy.sh, or no") throws(SetupError) -> String {
        let bare = text.hasSuffix("/") ? String(text.dropLast()) : text
        let host = bare.contains("://") ? bare.split(separator: "/").last.map(String.init) ?? "" : bare
        guard bare == host || bare == "https://\(host)" || bare == "http://\(host)", isHost(host) else {
            throw SetupError("expected a server, as in \(expected)")
        }
        return bare == host ? "https://\(host)" : bare
    }

    /// Reads the path of Apple's `.p8` file, or of another file with a private key on P-256.
    static func p256Key(_ text: String, _ machine: SetupMachine) throws(SetupError) -> String {
        let path = try Self.path(text, machine)
        guard let content = machine.read(path) else { throw SetupError("cannot read \(path)") }
        guard (try? P256PrivateKey(pem: content)) != nil else {
            throw SetupError(
                "\(path) does not contain a P-256 private key; expected a file with a line -----BEGIN PRIVATE KEY-----"
            )
        }
        return path
    }

    /// Reads the path of a Firebase service account.
    static func serviceAccount(_ text: String, _ machine: SetupMachine) throws(SetupError) -> String {
        let path = try Self.path(text, machine)
        guard let content = machine.read(path) else { throw SetupError("cannot read \(path)") }
        // JSON is YAML.
        let file = YAMLFile(name: path)
        let members = file.parse(content)?.mapping()
        let missing = ["project_id", "client_email", "private_key"].filter { members?[$0]?.writtenText == nil }
        guard members != nil, missing.count < 3 else {
            throw SetupError(
                "\(path) is not a service account; expected the JSON file that the Firebase console makes under "
                    + "Project settings, Service accounts"
            )
        }
        guard missing.isEmpty else {
            throw SetupError("\(path) lacks \(missing.joined(separator: ", ")); download the file again")
        }
        return path
    }

    /// Reads a path that is valid in every file that setup writes.
    static func path(_ text: String, _ machine: SetupMachine) throws(SetupError) -> String {
        var path = machine.path(text)
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        guard !path.contains(where: { " \"'\\%$`*?:#&;<>|()".contains($0) }) else {
            throw SetupError("expected a path without blanks, quotes, wildcards, colons, % and $")
        }
        return path
    }

    /// Reads a host name or an IP address.
    static func hostName(_ text: String, example: String) throws(SetupError) -> String {
        guard isHost(text), !text.contains(":") || text.hasPrefix("[") && text.hasSuffix("]") else {
            throw SetupError("expected a server's name without a port, as in \(example)")
        }
        return text.hasPrefix("[") ? String(text.dropFirst().dropLast()) : text.lowercased()
    }

    /// Reads `http://` or `https://`, a host, and an optional path.
    static func address(_ text: String) throws(SetupError) -> String {
        let start = ["https://", "http://"].first { text.hasPrefix($0) }
        let rest = text.dropFirst(start?.count ?? 0)
        guard start != nil, isHost(String(rest.prefix { $0 != "/" })),
            rest.unicodeScalars.allSatisfy({ isOfURL($0) || $0 == "?" })
        else { throw SetupError("expected an address, as in https://example.com/path") }
        return text
    }

    /// Reads the path of a file with one secret, or with a secret on each line.
    static func secretFile(
        _ text: String,
        _ machine: SetupMachine,
        isOneLine: Bool = true
    ) throws(SetupError) -> String {
        let path = try Self.path(text, machine)
        guard let content = machine.read(path) else { throw SetupError("cannot read \(path)") }
        let lines = content.split(whereSeparator: \.isNewline)
        guard isOneLine ? lines.count == 1 : !lines.isEmpty else {
            throw SetupError("expected the secret \(isOneLine ? "as the only line" : "as a line") of \(path)")
        }
        return path
    }

    /// Reads the path of a file with a line `NAME=SECRET` for each of `names`.
    static func secretsOfServices(
        _ text: String,
        _ machine: SetupMachine,
        names: [String]
    ) throws(SetupError) -> String {
        let path = try secretFile(text, machine, isOneLine: false)
        let lines = (machine.read(path) ?? "").split(whereSeparator: \.isNewline)
        let missing = names.filter { name in !lines.contains { $0.hasPrefix("\(name)=") && $0 != "\(name)=" } }
        guard missing.isEmpty else {
            throw SetupError(
                "\(path) lacks \(missing.joined(separator: ", ")); expected lines as \(missing[0])=abc123"
            )
        }
        return path
    }

    /// Reads `yes` or `no`.
    static func flag(_ text: String) throws(SetupError) -> String {
        switch text.lowercased() {
        case "yes", "y", "true", "on": return "yes"
        case "no", "n", "false", "off": return "no"
        default: throw SetupError("expected yes or no")
        }
    }

    private static func isHost(_ text: String) -> Bool {
        var host = text[...]
        if let colon = text.lastIndex(of: ":"), !text.hasSuffix("]") {
            guard let port = Int(text[text.index(after: colon)...]), (1...65_535).contains(port) else { return false }
            host = text[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") { return host.dropFirst().dropLast().allSatisfy(isOfIPv6) }
        guard !host.isEmpty, host.utf8.count <= 253, !host.hasPrefix("."), !host.hasPrefix("-"), !host.hasSuffix(".")
        else { return false }
        return host.unicodeScalars.allSatisfy { isLetterOrDigit($0) || $0 == "." || $0 == "-" }
    }

    private static func isDigit(_ character: Character) -> Bool { ("0"..."9").contains(character) }

    private static func isOfIPv6(_ character: Character) -> Bool {
        isDigit(character) || ("a"..."f").contains(character) || ("A"..."F").contains(character) || character == ":"
            || character == "."
    }

    static func isLetterOrDigit(_ scalar: Unicode.Scalar) -> Bool {
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
    }

    private static func isOfURL(_ scalar: Unicode.Scalar) -> Bool {
        isLetterOrDigit(scalar) || "-._~/:+%=&[]".unicodeScalars.contains(scalar)
    }

    /// Returns the start of the input, safe to print on a terminal.
    private static func shown(_ text: String) -> String {
        "'" + String(text.unicodeScalars.prefix(64).filter { $0.value >= 32 && $0.value != 127 }.map(Character.init))
            + "'"
    }
}
