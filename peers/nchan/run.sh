#!/bin/sh
# Serves one nchan channel on 127.0.0.1:$1, with everything it writes below $2. $3 is how many messages it keeps.
set -eu
port=$1 dir=$2 keep=$3
mkdir -p "$dir/tmp"
cat >"$dir/nginx.conf" <<CONF
daemon off;
master_process off;
pid $dir/nginx.pid;
error_log $dir/error.log warn;
load_module /usr/lib/nginx/modules/ngx_nchan_module.so;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path $dir/tmp;
  proxy_temp_path $dir/tmp;
  fastcgi_temp_path $dir/tmp;
  uwsgi_temp_path $dir/tmp;
  scgi_temp_path $dir/tmp;
  server {
    listen 127.0.0.1:$port;
    location = /ready { return 204; }
    location = /publish {
      nchan_publisher;
      nchan_channel_id feed;
      nchan_message_buffer_length $keep;
      nchan_message_timeout 1h;
    }
    location = /events {
      nchan_subscriber eventsource;
      nchan_channel_id feed;
    }
  }
}
CONF
exec nginx -p "$dir" -c "$dir/nginx.conf" -e "$dir/error.log"
