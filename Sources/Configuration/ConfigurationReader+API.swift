import Console
import YAMLReading

/// Reads the block on the API.
extension ConfigurationReader {
    func api(_ value: YAMLValue) -> Configuration.API {
        guard let mapping = value.mapping(keys: ["listen", "token_file", "open_metrics"]) else {
            return Configuration.API(tokenFile: "")
        }
        let file = mapping.require("token_file", "the file with the token that opens it, made on the first run")
        var api = Configuration.API(tokenFile: file?.string().map(path) ?? "")
        api.place = file?.place ?? value.place
        if let (host, port) = mapping["listen"].flatMap({ listenAddress($0, example: "127.0.0.1:7448 or [::1]:7448") })
        {
            api.console.host = host
            api.console.port = port
        }
        api.console.openMetrics = mapping["open_metrics"]?.bool() ?? false
        return api
    }
}
