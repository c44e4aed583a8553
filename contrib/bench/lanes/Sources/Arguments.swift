/// What the command line asks for.
struct Arguments {
    enum Subject {
        case lane
        case plugin(folder: String, keyFile: String)
    }

    struct Mistake: Error, CustomStringConvertible {
        let description: String
    }

    let subject: Subject
    let origin: String
    let caFile: String
    let requests: Int

    init(_ words: some Collection<String>) throws(Mistake) {
        var options: [String: String] = [:]
        var rest = words.dropFirst()
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { throw Mistake(description: "\(name): expected a value") }
            options[name] = value
        }
        func option(_ name: String) throws(Mistake) -> String {
            guard let value = options[name] else { throw Mistake(description: "\(name) is missing") }
            return value
        }
        switch words.first {
        case "lane": subject = .lane
        case "plugin": subject = .plugin(folder: try option("--folder"), keyFile: try option("--key"))
        default: throw Mistake(description: "expected lane or plugin")
        }
        origin = try option("--origin")
        caFile = try option("--ca")
        guard let requests = Int(try option("--requests")), requests > 0 else {
            throw Mistake(description: "--requests: expected a number")
        }
        self.requests = requests
    }
}
