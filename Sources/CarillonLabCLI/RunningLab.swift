import ArgumentParser
import CarillonLab
import Foundation
import FoundationNetworking

/// A lab that runs, found by the `lab.json` in its folder.
struct RunningLab: ParsableArguments {
    @Option(
        name: .customLong("lab"),
        help: ArgumentHelp("The folder of a running lab, or its lab.json.", valueName: "folder")
    )
    var place: String

    /// Sends to the control endpoint and returns status and body. Throws a sentence for people.
    func send(
        _ method: String,
        _ path: String,
        _ query: [String: String] = [:],
        body: String? = nil
    ) async throws -> (Int, String) {
        guard var components = URLComponents(string: try control() + path) else {
            throw Problem("control_url in \(file) is no URL.")
        }
        components.queryItems = query.isEmpty ? nil : query.sorted { $0.key < $1.key }.map(URLQueryItem.init)
        guard let url = components.url else { throw Problem("control_url in \(file) is no URL.") }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        // The lab itself knows when to give up.
        request.timeoutInterval = 3_600
        do {
            let (data, response) = try await URLSession.shared.data(for: request)
            let status = (response as? HTTPURLResponse)?.statusCode ?? 0
            return (status, String(decoding: data, as: UTF8.self))
        } catch let error as URLError {
            throw Problem("The lab of \(file) does not answer: \(error.localizedDescription)")
        }
    }

    /// Sends what the lab has to take.
    @discardableResult
    func order(
        _ method: String,
        _ path: String,
        _ query: [String: String] = [:],
        body: String? = nil
    ) async throws -> String {
        let (status, text) = try await send(method, path, query, body: body)
        guard (200..<300).contains(status) else {
            let complaint = JSONValue(parsing: Array(text.utf8))?["error"]?.string
            throw Problem(complaint ?? "The lab answers \(status): \(text)")
        }
        return text
    }

    private var file: String {
        place.hasSuffix(".json") ? place : place + "/lab.json"
    }

    private func control() throws -> String {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw Problem("There is no \(file): start a lab with `carillon-lab serve --folder \(place)`.")
        }
        guard let addresses = try? JSONDecoder().decode(LabAddresses.self, from: data) else {
            throw Problem("\(file) is not what a lab writes.")
        }
        guard let control = addresses.control else { throw Problem("The lab of \(file) has no control endpoint.") }
        return control
    }
}

/// A sentence for people about what went wrong.
struct Problem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
