/// What a request says besides its path, as its endpoint wants it.
extension APIEndpoint {
    /// The parameters of the query. Before there were versions, ones that nobody knows were overlooked.
    func checked(
        _ path: [String: String],
        _ query: QueryString,
        _ head: APIRequestHead,
        isStrict: Bool
    ) throws(APIProblem) -> [String: String] {
        if isStrict, query.isUnclear {
            throw APIProblem(400, "the query: expected each parameter once, percent-encoded UTF-8")
        }
        for parameter in parameters {
            let text =
                switch parameter.place {
                case .path: path[parameter.name]
                case .query: query.parameters[parameter.name]
                case .header: head.fields(parameter.name).first
                // A browser sends what it has: a cookie that is none of ours is no mistake of whoever asks.
                case .cookie: nil as String?
                }
            guard let text else {
                if parameter.isRequired, parameter.place == .query {
                    throw APIProblem(400, "\(parameter.name): expected \(parameter.summary)")
                }
                continue
            }
            if let expected = parameter.expectation(insteadOf: text) {
                throw APIProblem(parameter.place == .path ? 404 : 400, "\(parameter.name): expected \(expected)")
            }
        }
        let known = parameters.filter { $0.place == .query }.map(\.name)
        if isStrict, let unknown = query.parameters.keys.sorted().first(where: { !known.contains($0) }) {
            let names = known.isEmpty ? "no parameters" : known.sorted().joined(separator: ", ")
            throw APIProblem(400, "\(unknown.prefix(40)): expected \(names)")
        }
        return query.parameters
    }

    /// The header fields and cookies that it names.
    func fields(of head: APIRequestHead) -> [String: String] {
        var fields: [String: String] = [:]
        for parameter in parameters {
            switch parameter.place {
            case .header: fields[parameter.name] = head.fields(parameter.name).first
            case .cookie: fields[parameter.name] = head.cookie(parameter.name)
            case .path, .query: break
            }
        }
        return fields
    }
}
