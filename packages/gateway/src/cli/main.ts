console.log("keywheel", process.argv.slice(2).join(" "));
